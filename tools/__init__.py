"""Programs that make pages, pictures and notebooks, and the measurements that tests hold them to.

`tools/pages/NAME.py` writes docs/NAME.md. Tests import what they check from here; nothing here
imports a test, and `cprsim` imports nothing from here: tests/test_architecture.py sees to it.
"""
