/**
 * Every address pattern of the extension, in one place for the manifest, the content script and the registration of
 * further sites. A pattern that is only in one of them makes a script that runs without permission, or the reverse.
 */

import { SITES } from './platforms';

/** Asked for at installation, and where the content script runs by itself. */
export const INSTALL_HOSTS: readonly string[] = SITES.flatMap(({ matches }) => matches);

/** The most that may ever be asked for: a publication's own domain, a reader's own server. */
export const OPTIONAL_HOSTS = ['https://*/*', 'http://*/*'] as const;

/** Where the in-page interface may be framed; a publication's own domain may be any of these. */
export const FRAME_HOSTS = ['https://*/*'] as const;
