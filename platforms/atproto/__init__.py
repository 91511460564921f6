"""Signed repositories of the AT Protocol: reading them and proving what they contain. Pure, for any site.

Source: the protocol's specifications of data model, repository, cryptography and DID; DAG-CBOR and CAR of IPLD.
"""
