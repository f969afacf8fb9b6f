/** The page's entry: styles, theme before the first paint, and the app over its backend. */
import '@fontsource-variable/inter/index.css';
import '@fontsource-variable/jetbrains-mono/index.css';
import './styles/tokens.css';
import './styles/base.css';
import { mount } from 'svelte';
import { createBackend } from '#backend';
import App from './App.svelte';
import { followTheme } from '$lib/theme';
import { reportErrors } from '$lib/report';
import { setLanguage } from '$lib/i18n/i18n.svelte';

const backend = createBackend();
reportErrors(backend, window);
setLanguage(null);
followTheme('system');

const target = document.getElementById('app');
if (target !== null) mount(App, { target, props: { backend } });
