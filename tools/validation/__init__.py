"""Simulated runs beside exact values, fitted laws and what systems publish."""
