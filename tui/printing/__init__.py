"""Traces as text: tables, JSON, CSV, derivations and worksheets; no textual."""
