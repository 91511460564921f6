import { mount } from 'svelte';

import '../../interface/base.css';
import { dress, say } from '../../interface/words';
import App from './App.svelte';

dress(document, say('welcomeTitle'));
mount(App, { target: document.getElementById('app')! });
