/** One pull from first attempt to result: retries, timeouts, logins one after the other. Spec: images 7.5 to 7.9. */
import type { Clock } from "../../kube/index.ts";
import { imageReference, type PullOrder, type PullResult } from "../../node/index.ts";
import { AgentError, isAgentError, messageOf } from "../errors.ts";
import type { Login } from "./docker_config.ts";
import type { ImageService } from "./image_service.ts";

/** What a pull needs besides its order. */
export interface PullContext {
  readonly images: ImageService;
  /** Logins that match the image, read again for each attempt so that a late or changed secret counts. */
  readonly logins: (signal: AbortSignal) => Promise<readonly Login[]>;
  readonly clock: Clock;
  /** The task was stopped. */
  readonly signal: AbortSignal;
}

const longestPauseMs = 30_000;
const pulledBy = "apps.kruise.io/pulling-image-by";

/** Resolves with the result; rejects only when the context's signal aborts. */
export async function pullImage(order: PullOrder, context: PullContext): Promise<PullResult> {
  const { clock, signal } = context;
  const reference = imageReference(order.image, order.tag);
  if (reference === undefined) {
    return {
      ok: false,
      message: `invalid image reference: name ${JSON.stringify(order.image)}, tag ${JSON.stringify(order.tag)}`,
    };
  }
  const limited = new AbortController();
  const timer =
    order.deadlineMs === undefined
      ? undefined
      : clock.after(order.deadlineMs, () => limited.abort(deadlineError));
  const both = AbortSignal.any([signal, limited.signal]);
  try {
    return await attempts(order, reference, { ...context, signal: both });
  } catch (error) {
    if (signal.aborted) throw error;
    return { ok: false, message: messageOf(limited.signal.aborted ? deadlineError : error) };
  } finally {
    timer?.cancel();
  }
}

const deadlineError = new Error("pulling exceeds the activeDeadlineSeconds");

async function attempts(order: PullOrder, reference: string, context: PullContext): Promise<PullResult> {
  const { clock, signal } = context;
  let pauseMs = 1000;
  for (let attempt = 0; ; attempt++) {
    signal.throwIfAborted();
    try {
      return await oneAttempt(order, reference, context);
    } catch (error) {
      signal.throwIfAborted();
      // A request that the runtime calls malformed stays malformed.
      if (attempt >= order.backoffLimit || isAgentError(error, "Invalid"))
        return { ok: false, message: messageOf(error) };
    }
    await clock.sleep(pauseMs, signal);
    pauseMs = Math.min(pauseMs * 2, longestPauseMs);
  }
}

async function oneAttempt(order: PullOrder, reference: string, context: PullContext): Promise<PullResult> {
  const { clock, images, signal: outer } = context;
  if (images.missing !== undefined) throw new AgentError("Unavailable", images.missing);
  const name = `${order.image}:${order.tag}`;
  const timeoutMs = order.timeoutSeconds * 1000;
  const limited = new AbortController();
  const timer = clock.after(timeoutMs, () => limited.abort(new Error(`pulling image ${name} is canceled`)));
  const signal = AbortSignal.any([outer, limited.signal]);
  try {
    if (order.onlyIfAbsent) {
      const id = await images.present(reference, signal);
      if (id !== undefined) return { ok: true, imageID: `${order.image}@${id}`, pulled: false };
    }
    await pullWithLogins(order, reference, images, await context.logins(signal), signal);
    // It has been pulled, whatever becomes of the look at it.
    const id = await images.present(reference, signal).catch(() => {
      outer.throwIfAborted();
      return undefined;
    });
    return { ok: true, imageID: id === undefined ? "" : `${order.image}@${id}`, pulled: true };
  } catch (error) {
    if (limited.signal.aborted && !outer.aborted) throw limited.signal.reason;
    throw error;
  } finally {
    timer.cancel();
  }
}

/** Where logins match, all are tried and there is no anonymous attempt after them (spec agent 7.1). */
async function pullWithLogins(
  order: PullOrder,
  reference: string,
  images: ImageService,
  logins: readonly Login[],
  signal: AbortSignal,
): Promise<void> {
  const { labels } = order;
  const timeoutMs = order.timeoutSeconds * 1000;
  const annotations = { ...order.annotations, [pulledBy]: "kruise-daemon" };
  const failures: string[] = [];
  for (const login of logins.length > 0 ? logins : [undefined]) {
    try {
      await images.pull({ reference, login, labels, annotations, timeoutMs }, signal);
      return;
    } catch (error) {
      signal.throwIfAborted();
      failures.push(messageOf(error));
    }
  }
  throw new AgentError("Runtime", `Failed to pull image reference "${reference}": ${failures.join("; ")}`);
}
