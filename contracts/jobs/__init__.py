"""Requests and answers of the job API: strict snake_case documents, one module for each group of routes."""
