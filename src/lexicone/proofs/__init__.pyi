from ._certificate import Certificate as Certificate, StageProof as StageProof
from ._claims import Claim as Claim, Verification as Verification
from ._verify import verify as verify
