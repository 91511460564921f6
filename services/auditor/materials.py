"""Loads a job's article for the models."""

from __future__ import annotations

from analyses.claim_audit import Article
from contracts.jobs.words import ArticleWords
from contracts.v1 import JobFetched
from services.auditor.ports import Texts


async def load_article(texts: Texts, fetched: JobFetched) -> tuple[ArticleWords, Article]:
    """The stored article, and the article as a model is shown it. Raises: LookupError: it has expired."""
    words = ArticleWords.model_validate_json(await texts.get(fetched.article))
    return words, Article(words.text, words.title, words.address, words.author, words.publisher, words.published)
