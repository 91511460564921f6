"""What counts as a video in an article, by the same rule as in the extension (`extension/src/platforms/video.ts`).

Video is not analysed. The extension sends no post that shows one; where the site's own HTML shows one all the same, the
model is given that fact, because the words around a video may be about it.
"""

from __future__ import annotations

from typing import Final

from platforms.markup import Fragment

PLAYERS: Final = (
    "youtube.com",
    "youtube-nocookie.com",
    "youtu.be",
    "vimeo.com",
    "dailymotion.com",
    "twitch.tv",
    "wistia.com",
    "loom.com",
    "spotify.com/embed/episode",
    "player.simplecast.com",
)
PLAYER_PERMISSIONS: Final = frozenset(("autoplay", "encrypted-media", "picture-in-picture"))
"""Permissions of a frame that a player asks for and a chart or a market does not; `fullscreen` is asked for by both."""


def shows_video(article: Fragment) -> bool:
    """Whether an article holds a `video` element or the frame of a player, known or by what it is allowed to do.

    Source: requirements 2.1, decision 0042.
    """
    if article.select("video"):
        return True
    return any(is_player(frame.attributes) for frame in article.select("iframe"))


def is_player(attributes: dict[str, str | None]) -> bool:
    """Whether a frame with these attributes plays something."""
    source = attributes.get("src") or ""
    if any(player in source for player in PLAYERS):
        return True
    directives = (attributes.get("allow") or "").lower().split(";")
    return any(name in PLAYER_PERMISSIONS for directive in directives for name in directive.split()[:1])
