"""Detects videos in an article, by the extension's rule (`extension/src/platforms/video.ts`).

Video is not analysed. The extension sends no post with one; if the site's own HTML has one, the model is informed,
because the text around a video may be about it.
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
"""Permissions that players' frames request and frames of charts or markets do not; both request `fullscreen`."""


def shows_video(article: Fragment) -> bool:
    """Whether an article has a `video` element or a player's frame, recognised by its URL or its permissions.

    Source: requirements 2.1, decision 0042.
    """
    if article.select("video"):
        return True
    return any(is_player(frame.attributes) for frame in article.select("iframe"))


def is_player(attributes: dict[str, str | None]) -> bool:
    """Whether a frame with these attributes is a player."""
    source = attributes.get("src") or ""
    if any(player in source for player in PLAYERS):
        return True
    directives = (attributes.get("allow") or "").lower().split(";")
    return any(name in PLAYER_PERMISSIONS for directive in directives for name in directive.split()[:1])
