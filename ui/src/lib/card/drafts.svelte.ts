/** What the person has written on a card and not sent: shared by its fields, which scroll, and its buttons, which do not. */
import type { Choice, Request } from '$lib/contract';
import { answersOf, isAnswered, type Draft, type Reply } from './decision';

/** The result of a tool that the person runs. */
export class ToolResult {
  text = $state('');
  failed = $state(false);
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

  constructor(private readonly request: Request) {
    for (const question of request.questions) this.drafts[question.id] = { labels: [], text: '' };
  }

  get complete(): boolean {
    return this.request.questions.every((question) => isAnswered(question, this.drafts[question.id]));
  }

  reply(choice: Choice): Reply {
    return { choice, answers: answersOf(this.request, this.drafts) };
  }
}
