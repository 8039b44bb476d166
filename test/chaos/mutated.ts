/** Loaded before the controller's sources: has them make the mistake that REFIT_MUTANT names. */
import { mutate } from "../../simulation/index.ts";

mutate(process.env["REFIT_MUTANT"] ?? "");
