"""Who is calling: local people, people of OpenID Connect providers and of Active Directory, API tokens, sessions."""

from headrace.auth.authenticator import Authenticator
from headrace.auth.directory import (
    LEAST_ATTEMPTS,
    Account,
    Directory,
    DirectoryAway,
    DirectoryConfig,
    DirectoryError,
    DirectoryRefused,
)
from headrace.auth.errors import AuthCode, AuthError, TooManyAttempts
from headrace.auth.grants import Bindings, by_group, with_rights
from headrace.auth.issuer_watch import LOOK_ISSUERS_S, IssuerWatch
from headrace.auth.memory import MemoryPeopleStore
from headrace.auth.oidc_access import is_access_token
from headrace.auth.oidc_code_flow import SIGN_IN_LIMIT, Begun
from headrace.auth.oidc_issuers import Issuer, IssuerError, read_issuers
from headrace.auth.oidc_proof import ProvenThere, ProviderChallenge
from headrace.auth.oidc_provider import ProviderFailed
from headrace.auth.oidc_sign_in import Arrived
from headrace.auth.passkeys import (
    BY_PASSKEY,
    CHALLENGE_LIMIT,
    Agreed,
    Assertion,
    Attestation,
    Challenge,
    RelyingParty,
    by_passkey,
    check_agreed,
)
from headrace.auth.passwords import fold
from headrace.auth.principal import (
    BOOTSTRAP_ROLES,
    SCOPES_OF_ROLE,
    TOKEN_SCOPES,
    Method,
    Principal,
    Role,
    Scope,
    scopes_of,
)
from headrace.auth.rights import RightsChange
from headrace.auth.secret_forms import Pepper
from headrace.auth.sessions import BY_PASSWORD, Lifetimes, Shown, SignedIn
from headrace.auth.signed_out import SIGNED_OUT_KEPT, signed_out_keys
from headrace.auth.store import (
    MAX_PASSKEYS,
    MAX_TOKENS_A_PERSON,
    Arrival,
    Grounds,
    GroupBinding,
    GroupProposal,
    IdentityRecord,
    IdentityStore,
    InvitationRecord,
    LastAdmin,
    NameTaken,
    PasskeyRecord,
    PasskeyStore,
    PasskeyUse,
    PeopleStore,
    PersonRecord,
    PersonState,
    SessionRecord,
    StaysOut,
    TokenRecord,
    TooMany,
    digest_of,
    is_nameless,
)
from headrace.auth.throttle import Limit, Throttle, network_of
from headrace.auth.tokens import TokenWish

__all__ = [
    "BOOTSTRAP_ROLES",
    "BY_PASSKEY",
    "BY_PASSWORD",
    "CHALLENGE_LIMIT",
    "LEAST_ATTEMPTS",
    "LOOK_ISSUERS_S",
    "MAX_PASSKEYS",
    "MAX_TOKENS_A_PERSON",
    "SCOPES_OF_ROLE",
    "SIGNED_OUT_KEPT",
    "SIGN_IN_LIMIT",
    "TOKEN_SCOPES",
    "Account",
    "Agreed",
    "Arrival",
    "Arrived",
    "Assertion",
    "Attestation",
    "AuthCode",
    "AuthError",
    "Authenticator",
    "Begun",
    "Bindings",
    "Challenge",
    "Directory",
    "DirectoryAway",
    "DirectoryConfig",
    "DirectoryError",
    "DirectoryRefused",
    "Grounds",
    "GroupBinding",
    "GroupProposal",
    "IdentityRecord",
    "IdentityStore",
    "InvitationRecord",
    "Issuer",
    "IssuerError",
    "IssuerWatch",
    "LastAdmin",
    "Lifetimes",
    "Limit",
    "MemoryPeopleStore",
    "Method",
    "NameTaken",
    "PasskeyRecord",
    "PasskeyStore",
    "PasskeyUse",
    "PeopleStore",
    "Pepper",
    "PersonRecord",
    "PersonState",
    "Principal",
    "ProvenThere",
    "ProviderChallenge",
    "ProviderFailed",
    "RelyingParty",
    "RightsChange",
    "Role",
    "Scope",
    "SessionRecord",
    "Shown",
    "SignedIn",
    "StaysOut",
    "Throttle",
    "TokenRecord",
    "TokenWish",
    "TooMany",
    "TooManyAttempts",
    "by_group",
    "by_passkey",
    "check_agreed",
    "digest_of",
    "fold",
    "is_access_token",
    "is_nameless",
    "network_of",
    "read_issuers",
    "scopes_of",
    "signed_out_keys",
    "with_rights",
]
