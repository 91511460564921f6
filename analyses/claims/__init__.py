"""The rules of article audits that decide without a model: keys, time, evidence, labels, scores and money.

All functions are total: any text that a model, a page or a client sends gives a result, and no exception.
"""
