/** A mistake that somebody could make: the simulation has to find it. */
export interface Mutant {
  /** A sentence. */
  readonly name: string;
  readonly file: string;
  /** Is in the file once. */
  readonly from: string;
  readonly to: string;
  /** Stories without all of these texts among their steps cannot find it, and are not told. */
  readonly needs?: readonly string[];
  /** Why stories need not find it. */
  readonly survives?: string;
}
