/**
 * The page's language. Messages read it while they are drawn, so changing it redraws every text in place.
 */
import type { Language } from '$lib/contract';
import { overwriteGetLocale } from '$paraglide/runtime';

class LanguageCell {
  current = $state<Language>('en');
}

const cell = new LanguageCell();
overwriteGetLocale(() => cell.current);

/** The language that is shown now. */
export function language(): Language {
  return cell.current;
}

/** The language for a person who chose none: the first of the system's that we have. */
export function languageOf(system: readonly string[]): Language {
  for (const tag of system) {
    const lower = tag.toLowerCase();
    if (lower.startsWith('zh')) return 'zh-CN';
    if (lower.startsWith('en')) return 'en';
  }
  return 'en';
}

/** Shows the chosen language, or the system's. */
export function setLanguage(choice: Language | null, system: readonly string[] = navigator.languages): void {
  cell.current = choice ?? languageOf(system);
  document.documentElement.lang = cell.current;
}
