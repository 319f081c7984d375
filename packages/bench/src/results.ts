/**
 * The results of one run, as `results/latest.json` contains them.
 */
import type { FirstView } from "./firstView.ts"
import type { ListingRow } from "./listing.ts"
import type { Effort } from "./measure.ts"
import type { Row } from "./report.ts"
import type { SearchingRow } from "./searching.ts"
import type { StartRow } from "./startup.ts"
import type { UploadRow } from "./upload.ts"

/** Parts that a run did not measure are missing. */
export interface Results {
  readonly day: string
  readonly machine: string
  readonly keys: number
  readonly effort: Effort
  readonly rows: ReadonlyArray<Row>
  readonly listing?: ReadonlyArray<ListingRow>
  readonly searching?: ReadonlyArray<SearchingRow>
  readonly upload?: UploadRow
  readonly starts?: ReadonlyArray<StartRow>
  readonly firstViews?: ReadonlyArray<FirstView>
}
