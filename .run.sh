export PYTHONPATH=/tmp/logs NUMBA_CACHE_DIR=/tmp/logs/.numba; C=/work/shared/data/log_cases
fit() { echo "=== $*"; timeout 100 .venv/bin/cprsim fit "$@" 2>&1 | cut -c1-300| grep -v "^  *[a-z─ ]*$" | grep -v "─" | tail -${N:-22}; }
