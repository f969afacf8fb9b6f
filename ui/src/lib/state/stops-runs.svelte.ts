/**
 * Some servers' runs cannot be left: what would stop one is refused by the engine until the person agrees. This asks,
 * once, and does it again with the agreement.
 */
import { asAppError } from '$lib/backend/backend';

/** Spread into a command's arguments. */
export interface Agreed {
  stop_runs?: true;
}

interface Asked {
  /** The server's name. */
  readonly name: string;
  readonly answer: (yes: boolean) => void;
}

export class StopsRuns {
  asked = $state.raw<Asked | null>(null);

  /** Does it, asking first where it would stop a run. `undefined` = the person said no. */
  async ask<T>(name: string, work: (agreed: Agreed) => Promise<T>): Promise<T | undefined> {
    try {
      return await work({});
    } catch (failure) {
      if (asAppError(failure).code !== 'stops_runs') throw failure;
    }
    const yes = await new Promise<boolean>((answer) => {
      this.asked?.answer(false);
      this.asked = { name, answer };
    });
    return yes ? work({ stop_runs: true }) : undefined;
  }

  answer(yes: boolean): void {
    const asked = this.asked;
    this.asked = null;
    asked?.answer(yes);
  }
}
