/**
 * What the person has written on a card and not sent: shared by its fields, which scroll, and its buttons, which do
 * not. It survives navigation and a restart of the app, under the words that were asked: a server asks the same
 * question again under another id once its run is taken up again (P-36).
 */
import type { Choice, Request } from '$lib/contract';
import { keep, kept } from '$lib/state/kept';
import { answersOf, isAnswered, type Draft, type Reply } from './decision';

/** Two rounds of a plain string hash: the key is a place to look, not a proof. */
function hash(text: string): string {
  let [a, b] = [0x811c9dc5, 0x1000193];
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul(b ^ unit, 0x85ebca6b) + at;
  }
  return (a >>> 0).toString(16) + (b >>> 0).toString(16);
}

/** Where a request's draft is kept. */
function placeOf(request: Request): string {
  const asked =
    request.kind === 'question'
      ? JSON.stringify(request.questions.map(({ text, options, multiple }) => [text, options, multiple]))
      : `${request.tool ?? ''}\n${request.arguments.text}`;
  return `answer:${request.server}/${request.session}/${hash(asked)}`;
}

const record = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

/** The result of a tool that the person runs. */
export class ToolResult {
  text = $state('');
  failed = $state(false);
  private readonly place: string;

  constructor(request: Request) {
    this.place = placeOf(request);
    const { text, failed } = record(kept(this.place));
    if (request.kind === 'client_tool' && typeof text === 'string') this.text = text;
    this.failed = request.kind === 'client_tool' && failed === true;
  }

  /** Reads every field, so that an effect around it follows them. */
  keep(): void {
    keep(this.place, this.text === '' ? null : { text: this.text, failed: this.failed });
  }

  forget(): void {
    keep(this.place, null);
  }

  readonly isJson = $derived.by(() => {
    if (!/^\s*[[{"\d-]/.test(this.text)) return false;
    try {
      JSON.parse(this.text);
      return true;
    } catch {
      return false;
    }
  });

  reply(choice: Choice): Reply {
    return { choice, result: this.text };
  }
}

/** The answers to the questions of one request. */
export class Answers {
  readonly drafts: Record<string, Draft> = $state({});

  private readonly place: string;

  constructor(private readonly request: Request) {
    this.place = placeOf(request);
    const old = kept(this.place);
    // By place: a question that is asked again may come with other ids.
    const drafts: unknown[] = Array.isArray(old) ? old : [];
    request.questions.forEach((question, index) => {
      const { labels, text } = record(drafts[index]);
      this.drafts[question.id] = {
        labels: Array.isArray(labels) ? question.options.filter((option) => labels.includes(option)) : [],
        text: typeof text === 'string' ? text : '',
      };
    });
  }

  /** Reads every field, so that an effect around it follows them. */
  keep(): void {
    const written = this.request.questions.map(({ id }): Draft => {
      const draft = this.drafts[id];
      return { labels: [...(draft?.labels ?? [])], text: draft?.text ?? '' };
    });
    const empty = written.every((draft) => draft.labels.length === 0 && draft.text === '');
    keep(this.place, empty ? null : written);
  }

  forget(): void {
    keep(this.place, null);
  }

  get complete(): boolean {
    return this.request.questions.every((question) => isAnswered(question, this.drafts[question.id]));
  }

  reply(choice: Choice): Reply {
    return { choice, answers: answersOf(this.request, this.drafts) };
  }
}
