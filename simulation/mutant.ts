/** A mistake that somebody could make: the simulation has to find it. */
export interface Mutant {
  /** A sentence. */
  readonly name: string;
  readonly file: string;
  /** Is in the file once. */
  readonly from: string;
  readonly to: string;
  /** Stories without this text among their steps cannot find it, and are not told. */
  readonly needs?: string;
  /** Why stories need not find it. */
  readonly survives?: string;
}
