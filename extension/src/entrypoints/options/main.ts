import { mount } from 'svelte';

import '../../ui/base.css';
import { localizeDocument, say } from '../../ui/texts';
import App from './App.svelte';

localizeDocument(document, say('optionsTitle'));
mount(App, { target: document.getElementById('app')! });
