/** Why the server does not take what a controller writes, by its own words. */

interface Refusal {
  readonly reason: string;
  /** Whether the server's words, at most 2000 characters of them, mean this. */
  matches(words: string): boolean;
  readonly until: string;
  /** The command that shows more. */
  next(namespace: string, words: string): string;
}

const webhooks = () => "kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations";
const events = (namespace: string) =>
  `kubectl get events -n ${namespace || "default"} --field-selector type=Warning`;

/** The first that matches; the last matches anything. */
const refusals: readonly Refusal[] = [
  {
    reason: "QuotaExceeded",
    matches: (words) => words.includes("exceeded quota") || words.includes("failed quota"),
    until: "the ResourceQuota has room: it is raised, or others of the namespace go",
    next: (namespace) => `kubectl describe resourcequota -n ${namespace}`,
  },
  {
    reason: "WebhookUnavailable",
    matches: (words) => words.includes("failed calling webhook") || words.includes("failed to call webhook"),
    until: "the webhook answers, or its configuration is removed",
    next: webhooks,
  },
  {
    reason: "WebhookDenied",
    matches: (words) => words.includes("denied the request") || words.includes("denied request"),
    until: "the object is what the webhook or policy allows",
    next: (_namespace, words) => {
      const [, sidecarSet] = /\(SidecarSet ([a-z0-9.-]{1,253})\)/.exec(words) ?? [];
      return sidecarSet === undefined ? webhooks() : `refit why sidecarset/${sidecarSet}`;
    },
  },
  {
    reason: "PodSecurity",
    matches: (words) => words.includes("violates PodSecurity"),
    until: "the pod template is what the namespace's Pod Security level allows",
    next: (namespace) => `kubectl get namespace ${namespace} --show-labels`,
  },
  {
    reason: "LimitRange",
    matches: (words) => /\b(maximum|minimum) (cpu|memory|storage|[\w./-]{1,60}) usage per\b/.test(words),
    until: "the pod template is within the namespace's LimitRange",
    next: (namespace) => `kubectl describe limitrange -n ${namespace}`,
  },
  {
    reason: "ServiceAccountMissing",
    matches: (words) =>
      words.includes("error looking up service account") || /serviceaccount .{1,300} not found/.test(words),
    until: "the service account is there",
    next: (namespace) => `kubectl get serviceaccounts -n ${namespace}`,
  },
  {
    reason: "NamespaceTerminating",
    matches: (words) => words.includes("being terminated"),
    until: "it is made in another namespace",
    next: (namespace) => `kubectl describe namespace ${namespace}`,
  },
  {
    reason: "Forbidden",
    matches: (words) => words.includes("forbidden"),
    until: "the server allows it to the controller",
    next: events,
  },
  {
    reason: "Invalid",
    matches: (words) => words.includes("is invalid"),
    until: "the pod template is valid",
    next: events,
  },
  { reason: "WriteFailed", matches: () => true, until: "a write succeeds; it is tried again", next: events },
];

/** What refused it, by the words of an error. */
export function refusalOf(message: string): Refusal | undefined {
  const words = message.slice(0, 2000);
  return refusals.find((refusal) => refusal.matches(words));
}
