"""Files in the formats of Criteo and of recbole's MovieLens-100K, made up, and read."""

import gzip

import numpy as np

from cprsim.trainer.data import read_criteo
from cprsim.trainer.data.movielens import read_movielens


def criteo_lines(count, seed=0):
    """Lines as published: tabs, about a tenth of the values missing."""
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(count):
        integers = [str(each) for each in rng.integers(-2, 1000, size=13)]
        categories = [f"{each:08x}" for each in rng.integers(1 << 32, size=26)]
        values = integers + categories
        kept = ["" if rng.random() < 0.1 else value for value in values]
        lines.append("\t".join([str(rng.integers(2)), *kept]))
    return lines


def criteo(place, folder, count=400, **options):
    path = place / "train.txt.gz"
    with gzip.open(path, "wt") as file:
        file.write("\n".join(criteo_lines(count)) + "\n")
    return read_criteo(path, folder, test_share=0.25, **options)


GENRES = ("Comedy", "Drama Thriller", "Animation Children's Comedy")


def movielens_files(place, ratings=400, users=30, films=20, seed=0):
    """The three files of recbole's `dataset_example/ml-100k`, with their headers."""
    rng = np.random.default_rng(seed)
    place.mkdir(parents=True, exist_ok=True)
    lines = ["user_id:token\titem_id:token\trating:float\ttimestamp:float"]
    for number in range(ratings):
        user, film, stars = (rng.integers(1, most + 1) for most in (users, films, 5))
        lines.append(f"{user}\t{film}\t{stars}\t{881250949 + number}")
    (place / "ml-100k.inter").write_text("\n".join(lines) + "\n")
    lines = ["user_id:token\tage:token\tgender:token\toccupation:token\tzip_code:token"]
    lines += [
        f"{user}\t{rng.integers(10, 70)}\t{'MF'[user % 2]}\t{('artist', 'writer')[user % 2]}\t94043"
        for user in range(1, users + 1)
    ]
    (place / "ml-100k.user").write_text("\n".join(lines) + "\n")
    lines = ["item_id:token\tmovie_title:token_seq\trelease_year:token\tclass:token_seq"]
    lines += [
        f"{film}\tFilm é {film}\t{1980 + film if film > 1 else 'unkonwn'}\t{GENRES[film % 3]}"
        for film in range(1, films + 1)
    ]
    (place / "ml-100k.item").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return place


def movielens(place, folder, **options):
    source = movielens_files(place / "recbole" / "dataset_example" / "ml-100k")
    return read_movielens(folder, source=source, test_share=0.25, **options)
