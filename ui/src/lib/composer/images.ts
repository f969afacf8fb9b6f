/** Images that go with a message: what they are is read from their bytes, not from their names. */
import type { SentImage } from '$lib/contract';

export const MOST_BYTES = 5 * 1024 * 1024;
export const MOST_IMAGES = 20;
/** For the file picker. */
export const ACCEPTED = 'image/png,image/jpeg,image/gif,image/webp';

export interface ChosenImage extends SentImage {
  readonly key: string;
  readonly name: string;
}

export type ImageProblem = 'type' | 'size' | 'unread' | 'many';

const starts = (bytes: Uint8Array, at: number, ...wanted: number[]) =>
  wanted.every((byte, index) => bytes[at + index] === byte);

/** The media type by the first bytes; `null` = none that is taken. */
export function mediaType(bytes: Uint8Array): string | null {
  if (starts(bytes, 0, 0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)) return 'image/png';
  if (starts(bytes, 0, 0xff, 0xd8, 0xff)) return 'image/jpeg';
  if (starts(bytes, 0, 0x47, 0x49, 0x46, 0x38)) return 'image/gif';
  if (starts(bytes, 0, 0x52, 0x49, 0x46, 0x46) && starts(bytes, 8, 0x57, 0x45, 0x42, 0x50))
    return 'image/webp';
  return null;
}

/** Bytes turned to text at once; more would overflow the call's arguments. */
const PIECE = 0x8000;

export function base64(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += PIECE)
    text += String.fromCharCode(...bytes.subarray(at, at + PIECE));
  return btoa(text);
}

let made = 0;

export async function readImage(
  file: File,
): Promise<{ readonly image: ChosenImage } | { readonly problem: ImageProblem }> {
  if (file.size > MOST_BYTES) return { problem: 'size' };
  let bytes: Uint8Array;
  try {
    bytes = new Uint8Array(await file.arrayBuffer());
  } catch {
    return { problem: 'unread' };
  }
  const media_type = mediaType(bytes);
  if (media_type === null) return { problem: 'type' };
  made += 1;
  return { image: { key: `image-${made}`, name: file.name, media_type, data: base64(bytes) } };
}

/** What stands for the media type of an image that lies elsewhere: its bytes are its https address then. */
export const LINKED = 'text/uri-list';

/** An image by its address; `null` where that is no https address. The address is kept as it was typed. */
export function readLink(typed: string): ChosenImage | null {
  const address = typed.trim();
  // Nothing that cannot be seen, and no second word, may stand in it.
  if (!/^https:\/\/[^\s\p{C}]+$/iu.test(address)) return null;
  try {
    const { hostname } = new URL(address);
    if (hostname === '') return null;
  } catch {
    return null;
  }
  made += 1;
  return { key: `image-${made}`, name: address, media_type: LINKED, data: address };
}

/** The files of a paste or a drop. Text that is pasted carries none. */
export const filesOf = (transfer: DataTransfer | null): File[] => [...(transfer?.files ?? [])];
