import { getServerTime } from "@tollgate/ui/session/serverClock.ts"
import { texts } from "../texts/texts.ts"
import type { PortalKeyJson } from "../types.ts"

export const getKeyName = ({ name }: PortalKeyJson): string => name ?? texts.keyUnnamed

export const hasExpired = ({ expiresOn }: PortalKeyJson): boolean =>
  expiresOn !== undefined && Date.parse(expiresOn) <= getServerTime()
