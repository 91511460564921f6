"""The job API over HTTP: its conventions, one module each, and its routes."""
