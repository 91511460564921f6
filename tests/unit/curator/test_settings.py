"""Settings of the curator that contradict each other."""

from __future__ import annotations

import pytest

from kit.settings import DisplaySettings, SettingsError
from services.curator.settings import CuratorSettings, require_holds


@pytest.mark.requirement("TR-46")
def test_volume_is_earned_only_where_the_rest_is_held_back() -> None:
    """TR-46: A variant starts in the shadow and earns its volume by reviews, and a WRONG takes some of it back."""
    on, off = CuratorSettings(variants="on"), CuratorSettings()
    require_holds(on, DisplaySettings(hold=True))
    require_holds(off, DisplaySettings())
    with pytest.raises(SettingsError, match="OPENERRATA_DISPLAY_HOLD=true"):
        require_holds(on, DisplaySettings())
