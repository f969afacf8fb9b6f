/** The bars of a turn's timeline as fractions of its length. Pure: the time is passed in. */
import type { Span, SpanKind, Turn } from '$lib/contract';

export interface Bar {
  /** Start and length as fractions of the whole, 0 to 1. */
  readonly start: number;
  readonly length: number;
  readonly startedAt: number;
  readonly tookMs: number;
}

export interface Lane {
  readonly key: string;
  readonly kind: SpanKind;
  readonly name: string;
  readonly bars: readonly Bar[];
}

/** A bar is never thinner than this, so that a fast tool can be seen at all. */
const THINNEST = 0.015;
/** Lanes beyond this many are folded into none: the newest names win. */
const MOST_LANES = 12;

export function lanesOf(turn: Turn, now: number): Lane[] {
  if (turn.spans.length === 0) return [];
  const from = Math.min(turn.started_at ?? Infinity, ...turn.spans.map((span) => span.started_at));
  const to = Math.max(
    turn.ended_at ?? (turn.spans.some((span) => span.ended_at === null) ? now : -Infinity),
    ...turn.spans.map((span) => span.ended_at ?? now),
    from + 1,
  );
  const whole = to - from;
  const lanes = new Map<string, { kind: SpanKind; name: string; bars: Bar[] }>();
  for (const span of turn.spans) {
    const key = `${span.kind}:${span.name}`;
    const lane = lanes.get(key) ?? { kind: span.kind, name: span.name, bars: [] };
    const tookMs = Math.max(0, (span.ended_at ?? now) - span.started_at);
    const length = Math.min(1, Math.max(THINNEST, tookMs / whole));
    const start = Math.min((span.started_at - from) / whole, 1 - length);
    lane.bars.push({ start, length, startedAt: span.started_at, tookMs });
    lanes.set(key, lane);
  }
  const rank: Record<SpanKind, number> = { model: 0, tool: 1, you: 2 };
  return [...lanes]
    .map(([key, lane]) => ({ key, ...lane }))
    .slice(-MOST_LANES)
    .sort((a, b) => rank[a.kind] - rank[b.kind]);
}

/** How long a turn has waited for the person. */
export function waitedMs(spans: readonly Span[], now: number): number {
  return spans
    .filter((span) => span.kind === 'you')
    .reduce((sum, span) => sum + Math.max(0, (span.ended_at ?? now) - span.started_at), 0);
}
