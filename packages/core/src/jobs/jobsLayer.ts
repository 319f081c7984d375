import { Layer } from "effect"
import { DueWork } from "./DueWork.ts"
import { HeldWork } from "./HeldWork.ts"
import { jobLoopLayer } from "./jobLoop.ts"
import { Processes } from "./Processes.ts"
import { WorkSignals } from "./WorkSignals.ts"

/** Background work: what services use to cause some, and the loop that does it. */
export const jobsLayer = jobLoopLayer.pipe(
  Layer.provideMerge(HeldWork.layer),
  Layer.provideMerge(Layer.mergeAll(Processes.layer, DueWork.layer, WorkSignals.layer))
)
