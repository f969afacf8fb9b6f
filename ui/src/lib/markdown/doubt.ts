/**
 * What is doubtful about a link (S-07): its text names another host than the one it opens, or its host is not written
 * as it is resolved (another script, full-width digits, escapes, Punycode). Pure. The shell checks every address again.
 */

export interface LinkDoubt {
  /** What opens when the person says so: the address with its host in ASCII. */
  readonly address: string;
  /** The host that would be opened, in ASCII. */
  readonly host: string;
  /** The host as the link's address writes it, where that is something else. */
  readonly written: string | null;
  /** The host that the link's text names, where that is another one. */
  readonly named: string | null;
}

/** Endings of file names that are no top-level domains: such a word is no host. */
const FILES = new Set(
  (
    'bmp c cfg conf cpp css csv diff doc docx exe gif go gz h hpp htm html ini ipynb java jpeg jpg js json jsx kt lock ' +
    'log lua mjs mp3 mp4 patch pdf php png ppt pptx rb sql svelte svg swift tar tex toml ts tsx txt vue wasm webp xls ' +
    'xlsx xml yaml yml'
  ).split(' '),
);

/** Endings that are both: taken for a file where the address leads to one of that name. */
const FILES_TOO = new Set('cc md mov pl ps py rs sh zip'.split(' '));

const HOST =
  /(?:(https?):\/\/)?(?:[^\s/?#@]*@)?((?:[\p{L}\p{N}\p{M}_-]+[.\u3002\uFF0E\uFF61])+[\p{L}\p{M}][\p{L}\p{N}\p{M}-]+)(?::\d+)?/giu;

function parsed(address: string): URL | null {
  try {
    return new URL(address);
  } catch {
    return null;
  }
}

/** The host in ASCII; `null` where it is none. */
const ascii = (host: string): string | null => parsed(`https://${host}`)?.hostname ?? null;

const bare = (host: string): string => host.replace(/^www\./, '').replace(/\.$/, '');

/** The host of an address, and how it is written there. */
function target(url: URL, address: string): { host: string; written: string } | null {
  if (url.protocol === 'mailto:') {
    const written = url.pathname.split('@').pop() ?? '';
    const host = ascii(written);
    return host === null || host === '' ? null : { host, written: written.toLowerCase() };
  }
  const place = /^[^:]+:\/\/(?:[^/?#]*@)?(\[[^\]]*\]|[^/?#:]*)/.exec(address.trim())?.[1] ?? '';
  return url.hostname === '' ? null : { host: url.hostname, written: place.toLowerCase() };
}

/** The first host that a text names and that is not the one it opens. */
function named(text: string, host: string, path: string): string | null {
  for (const [word, scheme, name] of text.matchAll(HOST)) {
    if (name === undefined) continue;
    const certain = scheme !== undefined || word.includes('@') || /^www\./i.test(name);
    const ending = name.slice(name.lastIndexOf('.') + 1).toLowerCase();
    const file = FILES.has(ending) || (FILES_TOO.has(ending) && path.endsWith(`/${name.toLowerCase()}`));
    if (!certain && file) continue;
    const plain = ascii(name);
    if (plain !== null && bare(plain) !== bare(host)) return name;
  }
  return null;
}

/** `null` where the link is what it looks like, or cannot be read at all: then the shell says why. */
export function linkDoubt(address: string, text: string): LinkDoubt | null {
  const url = parsed(address);
  if (url === null) return null;
  const place = target(url, address);
  if (place === null) return null;
  const { host, written } = place;
  const other = written !== host;
  const puny = host.split('.').some((label) => label.startsWith('xn--'));
  const name = named(text, host, url.pathname.toLowerCase());
  if (!other && !puny && name === null) return null;
  let opens = url.href;
  if (url.protocol === 'mailto:' && other) opens = url.href.replace(/@[^@?]*/, `@${host}`);
  return { address: opens, host, written: other ? written : null, named: name };
}
