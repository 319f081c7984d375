/** What a person enters for a new subscription. */
import { InputError } from "@tollgate/ui/api/ApiError.ts"
import { fromLocalInput } from "@tollgate/ui/format/time.ts"
import type { SubscriptionJson } from "../../api/types.ts"
import { readMetadata } from "../../format/metadata.ts"
import type { PickedPlan } from "./PlanPicker.tsx"

export interface SubscriptionInput {
  readonly customerKey: string
  readonly plans: ReadonlyArray<PickedPlan>
  readonly status: SubscriptionJson["status"]
  readonly renewalStrategy: string
  readonly region: string
  readonly subscriptionExternalId: string
  /** Used if no external id is entered: the same for each attempt. */
  readonly generatedExternalId: string
  readonly customerExternalId: string
  readonly quotaResetAnchor: string
  readonly nextBillingCycle: string
  readonly trialStartDate: string
  readonly trialEndDate: string
  readonly trialEndStatus: string
  readonly productKey: string
  readonly metadata: string
}

export const emptySubscription: SubscriptionInput = {
  customerKey: "",
  plans: [],
  status: "active",
  renewalStrategy: "monthly",
  region: "us-central1",
  subscriptionExternalId: "",
  generatedExternalId: "",
  customerExternalId: "",
  quotaResetAnchor: "",
  nextBillingCycle: "",
  trialStartDate: "",
  trialEndDate: "",
  trialEndStatus: "",
  productKey: "",
  metadata: ""
}

export const checkSubscription = ({ plans }: Pick<SubscriptionInput, "plans">): void => {
  if (plans.length === 0) throw new InputError("No plan is chosen", "Choose one plan or more.")
}

const toOptional = (name: string, value: string) => (value === "" ? {} : { [name]: value })

const toOptionalTime = (name: string, value: string) => (value === "" ? {} : { [name]: fromLocalInput(value) })

/** The body of the request that creates the subscription. */
export const toSubscriptionBody = (input: SubscriptionInput) => {
  const metadata = readMetadata(input.metadata)
  return {
    customerKey: input.customerKey,
    planIds: input.plans.map(({ id }) => id),
    planExternalIds: input.plans.map(({ planExternalId }) => planExternalId),
    status: input.status,
    type: "periodic",
    renewalStrategy: input.renewalStrategy,
    region: input.region,
    subscriptionExternalId: input.subscriptionExternalId || input.generatedExternalId,
    customerExternalId: input.customerExternalId || input.customerKey,
    ...toOptionalTime("quotaResetAnchor", input.quotaResetAnchor),
    ...toOptionalTime("nextBillingCycle", input.nextBillingCycle),
    ...(input.status === "trialing"
      ? {
          ...toOptionalTime("trialStartDate", input.trialStartDate),
          ...toOptionalTime("trialEndDate", input.trialEndDate),
          ...toOptional("trialEndStatus", input.trialEndStatus)
        }
      : {}),
    ...toOptional("productKey", input.productKey),
    ...(metadata === undefined ? {} : { metadata })
  }
}
