/**
 * The in-page interface's own document. Everything of ours that has words in it lives here, out of the page's reach.
 */
import { mount } from 'svelte';

import { localizeDocument, say } from '../../ui/texts';
import App from './App.svelte';
import './frame.css';

localizeDocument(document, say('pageFrameTitle'));
mount(App, { target: document.body });
