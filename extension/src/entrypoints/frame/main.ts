/**
 * The in-page interface's own document. Everything of ours that has words in it lives here, out of the page's reach.
 */
import { mount } from 'svelte';
import { browser } from 'wxt/browser';

import App from './App.svelte';
import './frame.css';

document.documentElement.lang = browser.i18n.getUILanguage();
document.documentElement.dir = browser.i18n.getMessage('@@bidi_dir') === 'rtl' ? 'rtl' : 'ltr';
document.title = browser.i18n.getMessage('pageFrameTitle');
mount(App, { target: document.body });
