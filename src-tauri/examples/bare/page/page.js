// As the app's page does: the screen is painted with the frame after the next.
requestAnimationFrame(() => requestAnimationFrame(() => void window.__TAURI_INTERNALS__.invoke('page_ready', {})));
