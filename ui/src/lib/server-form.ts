/** The add/edit form's contents and their checks. Pure. */
import type { AuthStyle, Header, Server, ServerDraft, ServerOptions } from '$lib/contract';

/** What the fields hold: text as typed. */
export interface ServerFields {
  name: string;
  url: string;
  token: string;
  dialect: string;
  auth: AuthStyle | '';
  seedCompat: boolean;
  flushMs: string;
  capMib: string;
  diskMib: string;
  headers: string;
  insecureAccepted: boolean;
  /** How turns are told; empty = the best the server offers. */
  streamMode: string;
  /** Other origins the person agreed to, each to be kept or taken back. */
  origins: { readonly origin: string; kept: boolean }[];
}

export type FieldError =
  | { field: 'url' }
  | { field: 'flush' }
  | { field: 'cap' }
  | { field: 'disk' }
  | { field: 'headers'; line: number };

const MIB = 1024 * 1024;

export function emptyFields(): ServerFields {
  return {
    name: '',
    url: '',
    token: '',
    dialect: '',
    auth: '',
    seedCompat: false,
    flushMs: '',
    capMib: '',
    diskMib: '',
    headers: '',
    insecureAccepted: false,
    streamMode: '',
    origins: [],
  };
}

export function fieldsOf(server: Server): ServerFields {
  const options = server.options;
  return {
    name: server.name,
    url: server.base_url,
    token: '',
    dialect: options.dialect ?? '',
    auth: options.auth ?? '',
    seedCompat: options.seed_compat,
    flushMs: options.delta_flush_interval_ms?.toString() ?? '',
    capMib: inMib(options.event_cap_bytes),
    diskMib: inMib(options.disk_cap_bytes),
    headers: options.headers.map((header) => `${header.name}: ${header.value}`).join('\n'),
    insecureAccepted: options.insecure_accepted,
    streamMode: options.stream_mode ?? '',
    origins: (options.trusted_origins ?? []).map((origin) => ({ origin, kept: true })),
  };
}

/** A number of bytes as the form shows it; nothing where the app's own limit holds. */
const inMib = (bytes: number | null): string => (bytes === null ? '' : String(bytes / MIB));

function wholeNumber(text: string): number | null | undefined {
  const trimmed = text.trim();
  if (trimmed === '') return null;
  return /^\d{1,7}$/.test(trimmed) && Number(trimmed) > 0 ? Number(trimmed) : undefined;
}

/** The options, or the first field that cannot be used. */
export function readOptions(fields: ServerFields): { options: ServerOptions } | { error: FieldError } {
  if (fields.url.trim() === '') return { error: { field: 'url' } };
  const flush = wholeNumber(fields.flushMs);
  if (flush === undefined) return { error: { field: 'flush' } };
  const cap = wholeNumber(fields.capMib);
  if (cap === undefined) return { error: { field: 'cap' } };
  const disk = wholeNumber(fields.diskMib);
  if (disk === undefined) return { error: { field: 'disk' } };
  const headers: Header[] = [];
  for (const [index, line] of fields.headers.split('\n').entries()) {
    if (line.trim() === '') continue;
    const match = /^\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:\s*(.*?)\s*$/.exec(line);
    if (match?.[1] === undefined || match[2] === undefined)
      return { error: { field: 'headers', line: index + 1 } };
    headers.push({ name: match[1], value: match[2] });
  }
  const origins = fields.origins.filter((row) => row.kept).map((row) => row.origin);
  return {
    options: {
      dialect: fields.dialect === '' ? null : fields.dialect,
      seed_compat: fields.seedCompat,
      delta_flush_interval_ms: flush,
      auth: fields.auth === '' ? null : fields.auth,
      headers,
      insecure_accepted: fields.insecureAccepted,
      event_cap_bytes: cap === null ? null : cap * MIB,
      disk_cap_bytes: disk === null ? null : disk * MIB,
      ...(fields.streamMode === '' ? {} : { stream_mode: fields.streamMode }),
      ...(origins.length === 0 ? {} : { trusted_origins: origins }),
    },
  };
}

export function draftOf(fields: ServerFields, options: ServerOptions, sessionOnly: boolean): ServerDraft {
  return {
    name: fields.name.trim(),
    base_url: fields.url.trim(),
    token: fields.token.trim(),
    protocol: null,
    options,
    session_only: sessionOnly,
  };
}
