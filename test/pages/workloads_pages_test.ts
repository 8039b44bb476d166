import { pages } from "./pages.ts";
import { runPages } from "./run_pages.ts";

runPages(pages.workloads);
