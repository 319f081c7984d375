/** What a person can change of a subscription. */
import { InputError } from "@tollgate/ui/api/ApiError.ts"
import { type ConflictField, pairTexts } from "@tollgate/ui/components/ConflictNotice.tsx"
import { formatTime, fromLocalInput, toLocalInput } from "@tollgate/ui/format/time.ts"
import type { SubscriptionJson } from "../../api/types.ts"
import { formatMetadata, readMetadata } from "../../format/metadata.ts"
import type { PickedPlan } from "./PlanPicker.tsx"

export interface SubscriptionEdit {
  readonly status: SubscriptionJson["status"]
  readonly plans: ReadonlyArray<PickedPlan>
  /** The share of the new plans' limits that applies in the present period. */
  readonly prorate: string
  readonly trialEndDate: string
  readonly metadata: string
}

export const toEdit = ({
  status,
  planIds,
  planExternalIds,
  trialEndDate,
  metadata
}: SubscriptionJson): SubscriptionEdit => ({
  status,
  plans: planIds.map((id, index) => ({ id, planExternalId: planExternalIds[index] ?? "" })),
  prorate: "",
  trialEndDate: trialEndDate === undefined ? "" : toLocalInput(trialEndDate),
  metadata: formatMetadata(metadata)
})

export const haveSamePlans = ({ plans }: SubscriptionEdit, { planIds }: SubscriptionJson): boolean =>
  plans.length === planIds.length && plans.every(({ id }) => planIds.includes(id))

/** An input has no seconds: a date that was not touched is sent as it was. */
const toTrialEnd = ({ trialEndDate }: SubscriptionEdit, current: SubscriptionJson): string | undefined =>
  trialEndDate === ""
    ? undefined
    : current.trialEndDate !== undefined && toLocalInput(current.trialEndDate) === trialEndDate
      ? current.trialEndDate
      : fromLocalInput(trialEndDate)

/** The body of the request that changes the subscription. */
export const toUpdateBody = (edit: SubscriptionEdit, current: SubscriptionJson) => {
  if (edit.plans.length === 0) throw new InputError("No plan is chosen", "Choose one plan or more.")
  if (current.trialEndDate !== undefined && edit.trialEndDate === "")
    throw new InputError("The end of the trial cannot be removed", "Enter another date instead.")
  const metadata = readMetadata(edit.metadata) ?? (current.metadata === undefined ? undefined : {})
  const trialEndDate = toTrialEnd(edit, current)
  // Without a status or plans, the update leaves a pending change as it is.
  return {
    ...(edit.status === current.status ? {} : { status: edit.status }),
    ...(haveSamePlans(edit, current)
      ? {}
      : {
          planExternalIds: edit.plans.map(({ planExternalId }) => planExternalId),
          ...(edit.prorate === "" ? {} : { prorate: Number(edit.prorate) })
        }),
    ...(trialEndDate === undefined ? {} : { trialEndDate }),
    ...(metadata === undefined ? {} : { metadata })
  }
}

const describe = (edit: SubscriptionEdit): ReadonlyArray<readonly [label: string, text: string]> => [
  ["Status", edit.status],
  [
    "Plans",
    edit.plans
      .map(({ planExternalId }) => planExternalId)
      .sort()
      .join(", ")
  ],
  ["Trial ends", edit.trialEndDate === "" ? "–" : formatTime(fromLocalInput(edit.trialEndDate))],
  ["Metadata", edit.metadata || "none"]
]

export const compareEdits = (mine: SubscriptionEdit, theirs: SubscriptionEdit): ReadonlyArray<ConflictField> =>
  pairTexts(describe(mine), describe(theirs))
