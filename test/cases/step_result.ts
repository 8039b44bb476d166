/** What a step of a suite came to, and in which version of the API it was taken. */
export type ApiVersion = "v1alpha1" | "v1beta1";

export type StepResult =
  | { readonly outcome: "passed"; readonly suite: string; readonly step: string }
  | { readonly outcome: "failed"; readonly suite: string; readonly step: string; readonly error: string }
  | { readonly outcome: "skipped"; readonly suite: string; readonly step: string; readonly reason: string };
