# The command cprsim, of the wheel, and nothing of the repository beside it.
#     docker build -t cprsim .
#     docker run --rm cprsim run quickstart
#     docker run --rm -v "$PWD:/work" cprsim advise my-job.toml
FROM python:3.12-slim AS wheel
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY cprsim cprsim
COPY scenarios scenarios
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheel .

FROM python:3.12-slim
# A home that Numba can keep in what it has compiled.
RUN useradd --create-home cprsim
COPY --from=wheel /wheel /wheel
RUN pip install --no-cache-dir /wheel/*.whl && rm -r /wheel
USER cprsim
WORKDIR /work
ENTRYPOINT ["cprsim"]
CMD ["--help"]
