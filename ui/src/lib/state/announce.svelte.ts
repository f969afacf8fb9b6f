/**
 * What is said to people who listen: a polite line, at most one per 3 s with the latest winning, and an assertive
 * one for a new request.
 */
const POLITE_GAP_MS = 3000;

export class Announcer {
  polite = $state.raw('');
  assertive = $state.raw('');
  private last = -POLITE_GAP_MS;
  private pending: string | null = null;
  private timer: ReturnType<typeof setTimeout> | null = null;

  constructor(private readonly now: () => number = () => performance.now()) {}

  say(text: string): void {
    if (text === (this.pending ?? this.polite)) return;
    this.pending = text;
    if (this.timer !== null) return;
    const wait = this.last + POLITE_GAP_MS - this.now();
    if (wait <= 0) this.flush();
    else this.timer = setTimeout(() => this.flush(), wait);
  }

  alert(text: string): void {
    this.assertive = text;
  }

  private flush(): void {
    this.timer = null;
    this.last = this.now();
    if (this.pending !== null) this.polite = this.pending;
    this.pending = null;
  }
}
