"""What the job API takes and answers: strict snake_case documents, one module for each group of routes."""
