"""The words by which pages ask for payment or consent, or say that a page is missing.

Pages in other languages are recognised by their markup and address only.
"""

from __future__ import annotations

import re
from typing import Final


def _any_of(*forms: str) -> re.Pattern[str]:
    return re.compile("|".join(forms), re.IGNORECASE)


PAYMENT: Final = _any_of(
    r"\bto (continue|keep|finish) reading\b",
    r"\bsubscri(be|ption) to (access|continue|keep|read|unlock)\b",
    r"\b(available|exclusive|exclusively|reserved|only) (for|to) (our )?(\w+ )?(members|subscribers)\b",
    r"\b(article|content|post|story) is (only )?for (our )?(\w+ )?(members|subscribers)\b",
    r"\bunlock (this|the (full|whole)) (article|story)\b",
    r"\b(log|sign) in to (continue|read)\b|\baccount to (continue|read)\b|\bregister to (continue|read)\b",
    r"\bum .{0,40}\bweiterzulesen\b|\bweiterlesen mit\b|\b(exklusiv|nur) f(ü|ue)r (\S+[- ])?(abonnent|plus-)",
    r"\bkostenpflichtiger artikel\b|\bartikel ist kostenpflichtig\b",
    r"\br(é|e)serv(é|e)e?s? (à nos|aux) abonn(é|e)s\b|\bpour lire la suite\b|\bil vous reste \d+",
    r"\b(exclusiv[oa]|solo) para (nuestros )?suscriptores\b|\bpara (continuar|seguir) leyendo\b",
    r"\b(esclusiva per gli|riservato agli) abbonati\b|\bper continuare a leggere\b",
    r"\bexclusiv[oa] para assinantes\b|\bpara continuar (a ler|lendo)\b",
    r"\balleen voor abonnees\b|\bom (door|verder) te lezen\b",
    r"会員限定|続きをお読みいただけます|付费阅读|订阅后.{0,6}阅读|訂閱後.{0,6}閱讀|유료 ?회원",
)
"""Text that asks for a payment or an account before the rest is shown."""

AGREE: Final = _any_of(
    r"(yes,? )?(i )?(accept|agree|allow|consent)( to)?( all)?( cookies)?( and (close|continue|proceed|subscribe))?",
    r"(ich )?(bin )?(alle(s|n)? )?(cookies )?(akzeptieren|annehmen|einverstanden|zustimmen|stimme zu)( und \w+)?",
    r"(tout )?accepter( tout)?( et \w+)?|j.accepte",
    r"(aceptar|acepto|aceitar|aceito)( todas| todo| todos| tudo)?( y \w+| e \w+)?",
    r"accett[ao]( tutt[oi])?( e \w+)?|(alles )?accepteren( en \w+)?|akkoord|akceptuj\w*( wszystkie)?|godkänn( alla)?",
    r"(すべて)?(同意|承認)(する|します)?|(全部)?(接受|同意)(全部)?|모두 동의|동의",
)
"""The whole text of a button that gives consent."""

CONSENT: Final = _any_of(
    r"cookie|consent|\bpartners\b|\bpersonali[sz]ed\b|\bprivacy\b|legitimate interest|\badvertising\b",
    r"datenschutz|einwillig|zustimm|personenbezogen|personalisiert|\bwerbung\b",
    r"confidentialité|consentement|publicité|partenaires|privacidad|consentimiento|publicidad",
    r"consenso|pubblicità|toestemming|advertenties|クッキー|同意|プライバシー|隐私|隱私|개인정보",
)
"""Words on the subject of consent."""

ADDRESS: Final = _any_of(
    r"\b(we|us|our|you|your)\b|\b(wir|uns|unsere|sie|ihre|ihnen|du|deine)\b|\b(nous|nos|notre|vous|vos|votre)\b",
    r"\b(nosotros|nuestr[oa]s?|usted|su|sus|tu|tus|utilizamos)\b|\b(noi|nostr[aoie]|tuo|tuoi|utilizziamo)\b",
    r"\b(nós|nosso|nossos|você|seu|seus)\b|\b(wij|we|onze|u|uw|je)\b",
    r"当社|弊社|お客様|当サイト|本网站|我们|您|귀하|당사",
)
"""Words that address the reader or name the site itself, which an article about consent seldom has."""

MISSING: Final = _any_of(
    r"(error )?404( error)?([ :,(–-]*(page |file )?not found.*)?|(the |this )?page (was )?not found|not found",
    r"(page|article|story|post) (does not exist|no longer (available|exists)|unavailable)",
    r"(fehler )?404|(seite|artikel) nicht gefunden|page (introuvable|non trouvée)|página no encontrada",
    r"pagina non trovata|página não encontrada|pagina niet gevonden",
    r"お探しのページ.*|ページが見つかりません.*|页面不存在|找不到(该)?页面",
)
"""The title of a page that says "not found", whatever its status."""

ROBOT: Final = _any_of(
    r"just a moment|attention required|access (to this page has been )?denied|checking your browser.*",
    r"are you (a robot|human)\?|verif(y|ying) (that )?you are (a )?human|(human|bot) verification",
    r"ddos-guard|one moment, please|robot check|pardon our interruption|(vercel )?security check(point)?",
)
"""The title of a page that keeps programs out."""
