/** The API server's calls to webhooks: any replica that serves may be asked, and none may be there. */
import { answerConversion } from "../controller/index.ts";
import { convertObject } from "../crds/index.ts";
import { type Clock, isJsonObject, own, type Random } from "../kube/index.ts";
import { type Faults, type WebhookCalls, WebhookError } from "../sandbox/index.ts";

export interface Reviewer {
  /** Whether it answers now. */
  readonly serves: boolean;
  /** Bytes of an AdmissionReview, both ways. Never resolves once the replica is dead. */
  review(path: string, body: Buffer): Promise<Buffer>;
}

interface WebhookOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly reviewers: () => readonly Reviewer[];
  readonly faults: Faults;
}

const slowestMs = 3;

export function inProcessWebhooks({ clock, random, reviewers, faults }: WebhookOptions): WebhookCalls {
  return {
    async call(name, clientConfig, review, timeoutSeconds) {
      const path = pathOf(clientConfig);
      const isLost =
        faults.strike("timeout", { verb: "webhook", resource: name, namespace: "", name, userAgent: "" }) !==
        undefined;
      const serving = reviewers().filter(({ serves }) => serves);
      const chosen = serving[Math.floor(random() * serving.length)];
      if (chosen === undefined) throw new WebhookError(`Post ${path}: connect: connection refused`);
      const sent = Buffer.from(JSON.stringify(review));
      return new Promise((resolve, reject) => {
        const limit = clock.after(timeoutSeconds * 1000, () =>
          reject(new WebhookError(`Post ${path}: context deadline exceeded`)),
        );
        const answered = (answer: Buffer): void => {
          if (isLost) return;
          clock.after(random() * slowestMs, () => {
            limit.cancel();
            resolve(JSON.parse(answer.toString()));
          });
        };
        clock.after(random() * slowestMs, () => {
          if (path === "/convert") answered(Buffer.from(answerConversion(sent, convertObject).text));
          else chosen.review(path, sent).then(answered, reject);
        });
      });
    },
    close: async () => undefined,
  };
}

function pathOf(clientConfig: unknown): string {
  const service = isJsonObject(clientConfig) ? own(clientConfig, "service") : undefined;
  const path = isJsonObject(service) ? own(service, "path") : undefined;
  return typeof path === "string" ? path : "/";
}
