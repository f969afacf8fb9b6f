/** Numbers, sizes and times as people read them. Pure: the language and the time are passed in. */
import type { Language } from '$lib/contract';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;

/** `23,487`. */
export function formatNumber(value: number, language: Language): string {
  return new Intl.NumberFormat(language).format(value);
}

/** `41K`: for where the whole number has no room. */
export function formatShort(value: number, language: Language): string {
  return new Intl.NumberFormat(language, { notation: 'compact', maximumFractionDigits: 1 }).format(value);
}

/** `64 MiB`, `1.5 KiB`, `12 B`. */
export function formatBytes(bytes: number, language: Language): string {
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || value >= 100 ? 0 : 1;
  return `${new Intl.NumberFormat(language, { maximumFractionDigits: digits }).format(value)} ${units[unit]}`;
}

const UNITS: Record<Language, { ms: string; s: string; m: string; h: string; d: string; gap: string }> = {
  en: { ms: 'ms', s: 's', m: 'm', h: 'h', d: 'd', gap: ' ' },
  'zh-CN': { ms: '毫秒', s: '秒', m: '分', h: '小时', d: '天', gap: ' ' },
};

/** A span of time in at most two units: `40 ms`, `6 s`, `1 m 48 s`, `2 h 5 m`. */
export function formatDuration(ms: number, language: Language): string {
  const unit = UNITS[language];
  const say = (value: number, name: string) => `${value}${unit.gap}${name}`;
  if (ms < SECOND) return say(Math.max(0, Math.round(ms)), unit.ms);
  if (ms < 10 * SECOND && ms % SECOND >= 100) return say(Math.floor(ms / 100) / 10, unit.s);
  if (ms < MINUTE) return say(Math.floor(ms / SECOND), unit.s);
  const parts = (big: number, bigName: string, small: number, smallName: string) =>
    small === 0 ? say(big, bigName) : `${say(big, bigName)} ${say(small, smallName)}`;
  if (ms < HOUR) return parts(Math.floor(ms / MINUTE), unit.m, Math.floor((ms % MINUTE) / SECOND), unit.s);
  if (ms < DAY) return parts(Math.floor(ms / HOUR), unit.h, Math.floor((ms % HOUR) / MINUTE), unit.m);
  return parts(Math.floor(ms / DAY), unit.d, Math.floor((ms % DAY) / HOUR), unit.h);
}

/** A countdown: `4:31`. */
export function formatCountdown(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / SECOND));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

/** How long ago, in the fewest letters, for lists: `14s`, `2m`, `Tue`, `Sep 3`. `null` means "now". */
export function formatAgo(at: number, now: number, language: Language): string | null {
  const age = now - at;
  if (age < 5 * SECOND) return null;
  const short: Record<Language, [string, string, string]> = {
    en: ['s', 'm', 'h'],
    'zh-CN': [' 秒', ' 分钟', ' 小时'],
  };
  const [s, m, h] = short[language];
  if (age < MINUTE) return `${Math.floor(age / SECOND)}${s}`;
  if (age < HOUR) return `${Math.floor(age / MINUTE)}${m}`;
  if (age < DAY) return `${Math.floor(age / HOUR)}${h}`;
  const date = new Date(at);
  if (age < WEEK) return new Intl.DateTimeFormat(language, { weekday: 'short' }).format(date);
  return new Intl.DateTimeFormat(language, { month: 'short', day: 'numeric' }).format(date);
}

/** The clock time in this computer's zone: `18:40:02`. */
export function formatClock(at: number): string {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** The whole moment with its zone, for titles. */
export function formatMoment(at: number, language: Language): string {
  return new Intl.DateTimeFormat(language, {
    dateStyle: 'medium',
    timeStyle: 'long',
  }).format(new Date(at));
}
