/**
 * A component in a chunk of its own, so that the first screen need not wait for it. It is fetched once: before it is
 * needed where there is time, else when it is; whoever draws it keeps what stands until it has come.
 */
import type { Component } from 'svelte';

/** What a chunk's module gives. */
interface Chunk<C> {
  readonly default: C;
}

// The component's own properties are checked where it is drawn.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export class Later<C extends Component<any>> {
  /** The component, once it is here. */
  component = $state.raw<C | null>(null);
  private coming: Promise<void> | null = null;

  constructor(private readonly bring: () => Promise<Chunk<C>>) {}

  /** Fetches it. Where that failed, the next call tries again. */
  load(): Promise<void> {
    this.coming ??= this.bring().then(
      (chunk) => void (this.component = chunk.default),
      (failure: unknown) => {
        this.coming = null;
        throw failure;
      },
    );
    return this.coming;
  }
}
