/** The page's one ticking clock, for countdowns and "N s ago". One timer for all of them. */
class Clock {
  now = $state.raw(Date.now());
  private timer: ReturnType<typeof setInterval> | null = null;

  start(): () => void {
    this.timer ??= setInterval(() => (this.now = Date.now()), 1000);
    return () => {
      if (this.timer !== null) clearInterval(this.timer);
      this.timer = null;
    };
  }
}

export const clock = new Clock();
