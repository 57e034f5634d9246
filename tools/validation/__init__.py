"""Simulated runs compared with exact values, replayed logs and published figures."""
