/** How much of a quota is used: of the allowance of the plans, and of credit. */
import type { ListedSubscriptionJson, QuotasJson } from "../api/types.ts"

export type QuotaJson = QuotasJson["meters"][string]

/** What can be used in the period in all. Without credit it is the maximum of the plans. */
export const getAvailable = ({ used, max, remaining, credit, overage = 0 }: QuotaJson): number =>
  credit === undefined ? max : used + remaining - overage

/** A maximum of 0 allows nothing, so it is used up. */
export const getShare = (quota: QuotaJson): number => {
  const available = getAvailable(quota)
  return available === 0 ? 1 : quota.used / available
}

/** From this share on, a quota is near its end, and credit is low. */
export const nearShare = 0.8

/** Whether a customer who has, or had, credit has little left of all that it can use. */
export const isCreditLow = (quota: QuotaJson): boolean => quota.credit !== undefined && getShare(quota) >= nearShare

export interface MeterUse {
  readonly meter: string
  readonly quota: QuotaJson
  /** 1 if all of it is used. */
  readonly share: number
}

/** The meter of which the largest share is used. */
export const findHighestUse = (usage: ListedSubscriptionJson["usage"]): MeterUse | undefined =>
  Object.entries(usage?.meters ?? {})
    .map(([meter, quota]) => ({ meter, quota, share: getShare(quota) }))
    .sort((a, b) => b.share - a.share)[0]
