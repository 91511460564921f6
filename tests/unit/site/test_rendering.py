"""Templates are compiled once for all gateways of a process that show the same parts."""

from __future__ import annotations

import pytest

from services.gateway.public.site.rendering import Templates

CLAIMS = b'<a href="/claims">'
PAGE = {"section": None, "canonical": None, "heading": "Nothing here", "message": "It is not."}


@pytest.mark.parametrize("catalogue", [True, False])
def test_claims_are_linked_only_where_they_have_pages(catalogue: bool) -> None:
    """Both kinds are made first, so that neither gets the pages of the other."""
    with_claims, without = Templates(catalogue=True), Templates()
    page = (with_claims if catalogue else without).render("missing.html", **PAGE)
    assert (CLAIMS in page) is catalogue
