/**
 * The errors that several endpoints declare.
 */
import {
  IdempotencyKeyReused,
  InsufficientStorage,
  InternalError,
  InvalidInput,
  PayloadTooLarge,
  ReplayUnavailable,
  RequestInProgress,
  RequestTimeout,
  ServerBusy,
  StoreConflict,
  StoreUnavailable,
  UnsupportedEncoding
} from "@tollgate/store/internal"

/** Errors of every authenticated endpoint. */
export const commonErrors = [InvalidInput, InternalError, StoreUnavailable, StoreConflict, ServerBusy] as const

/** Errors of endpoints that accept an Idempotency-Key. */
export const idempotencyErrors = [IdempotencyKeyReused, RequestInProgress, ReplayUnavailable] as const

/** Errors of endpoints that read a request body. */
export const bodyErrors = [RequestTimeout, PayloadTooLarge, UnsupportedEncoding, InsufficientStorage] as const
